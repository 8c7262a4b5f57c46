"""What people see: the HTTP API, live events and the page."""
