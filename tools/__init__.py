"""What builds and checks the packages that are given to users."""
