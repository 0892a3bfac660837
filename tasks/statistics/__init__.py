"""Statistics: findings, intervals and tests that every room shares."""
