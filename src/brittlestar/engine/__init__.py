"""The stack around a policy, the lanes it runs in, and what is measured on the way."""
