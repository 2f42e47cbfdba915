"""Figures about the service for Prometheus: how many requests and reports, and how long commits take."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics, generate_latest


class Metrics:
    """The counters of one service (requests, reports, times of commits), as the program Prometheus reads them.

    ``waiting`` and ``bytes_on_disk`` are functions that are called when somebody reads the figures: the number of
    reports that wait to be written, and the size of the store by part.
    """

    def __init__(self, waiting: Callable[[], float], bytes_on_disk: Callable[[], dict[str, int]]) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]  # they tell when the first report came
        # The ends of the histograms' buckets, in reports and seconds, are judgement: a factor of four, or of about
        # three, apart. More buckets make every reading longer, fewer tell less.
        self._registry = registry = CollectorRegistry()
        self.answers = Counter("sfumato_answers", "Requests answered", ["path", "status"], registry=registry)
        self.accepted = Counter("sfumato_reports_accepted", "Reports acknowledged", ["survey"], registry=registry)
        self.refused = Counter("sfumato_refused", "Requests and reports refused", ["reason"], registry=registry)
        self.together = Histogram(
            "sfumato_reports_per_commit", "Reports in one commit", buckets=[1, 4, 16, 64, 256, 1024], registry=registry
        )
        self.commit = Histogram(
            "sfumato_commit_seconds", "Time of a commit", buckets=[0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1],
            registry=registry,
        )
        Gauge("sfumato_reports_waiting", "Reports that wait to be written", registry=registry).set_function(waiting)
        self._bytes = Gauge("sfumato_store_bytes", "Bytes on disk", ["part"], registry=registry)
        self._on_disk = bytes_on_disk

    def committed(self, reports: int, seconds: float) -> None:
        """Count a commit of the store: so many reports, written in so many seconds."""
        self.together.observe(reports)
        self.commit.observe(seconds)

    def text(self) -> bytes:
        """Return all figures in the text format of Prometheus."""
        for part, size in self._on_disk().items():
            self._bytes.labels(part).set(size)
        return generate_latest(self._registry)
