"""Run the survey of `sfumato demo`: its plan, its people, a collector for them, and the page that shows it all."""
