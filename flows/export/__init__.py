"""What is handed out: curated sets with their cards, defended models."""
