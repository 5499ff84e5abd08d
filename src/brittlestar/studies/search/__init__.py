"""The smallest combined disturbance that breaks a policy."""
