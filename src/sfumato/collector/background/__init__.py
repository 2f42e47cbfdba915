"""What runs beside the requests: the thread that writes, the thread that reads, processes that compute, and the log."""
