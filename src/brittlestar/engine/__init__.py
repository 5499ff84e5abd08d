"""The stack around a policy (`Parts`), the episodes to run (`Plan`), and the call that runs them (`run_episodes`)."""
