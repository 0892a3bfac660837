"""What is done around runs: plan, check, workers, data sets, documents."""
