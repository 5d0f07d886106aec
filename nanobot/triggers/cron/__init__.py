"""What happens by the clock: schedules, jobs, and the service that fires them."""
