"""What runs beside a collector's requests: a thread that writes, one that reads, processes that compute, a log."""
