"""Models by address: a file that is read and never executed, or a service that is asked; in one table."""
