"""What moves deliveries: accepting events, choosing lanes, sending, committing."""
