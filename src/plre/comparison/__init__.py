"""The paper's evaluation on any text: all methods, several orders, significance, costs, one report."""
