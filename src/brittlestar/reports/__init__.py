"""What a person looks at: terminal, plots, report."""
