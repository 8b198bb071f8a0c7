"""Discounts."""
