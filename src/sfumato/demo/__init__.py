"""The simulated survey of `sfumato demo`: its plan and people, a collector, a browser, and the page of results."""
