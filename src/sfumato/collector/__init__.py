"""The collector: a service that takes reports over HTTP, stores each exactly once, shows estimates and ships models.

    >>> from sfumato import collector
    >>> collector.Settings(port=8000).port
    8000

`start` (in `serving`) starts it; `Settings` has every number. Inside, imports point downwards:

    serving, simulate     start and stop; simulated devices to try it with
    http                  endpoints, their handlers, the server
    background            the thread that writes, the thread that reads, processes that compute, jobs
    access, surveys       tokens and invitations; the survey of a plan
    form, refusals        a report as a row of bytes; every reason for a refusal
    store                 SQLite or PostgreSQL, tables in SQL
    settings              every number, with its source

**Post an answer.** A device sends `POST /{survey}/reports`.

1. `http/application.py`: ``Dispatcher`` finds the endpoint of path and method in the tables of `http/public.py`.
2. `http/public.py`: ``submit`` reads the body (`http/messages.py`: ``ReportBatch``), and ``_take`` checks every report
   against the plan and packs it into a row (`form.py`: ``ReportForm.pack``).
3. `background/writer.py`: ``Writer.take`` hands the rows to the thread that writes, and waits. The thread takes
   everything that waits, and commits it in one transaction.
4. `store/connection.py`: ``Connection.take`` inserts new reports, and returns a verdict on each.
5. After the commit has reached the disk, ``_take`` goes on: the answer (``SubmissionVerdict``) names the accepted ids.

**Dashboard.** A browser with an analyst's cookie asks for `GET /{survey}/dashboard`.

1. `http/pages.py`: ``show_dashboard`` checks the token (`access.py`) and asks for the figure ``dashboard``
   (`http/analyst.py`: ``compute_figure``).
2. `background/processes.py`: ``Figures.figure`` returns the figure that it keeps if nothing has changed in the store,
   else it asks the process that computes.
3. `background/worker.py`, in that process: ``Worker.answer`` looks the name up in ``REQUESTS``, and
   ``Worker.dashboard`` reads the reports, estimates, and writes the page.
4. `http/static/dashboard.js` asks for the same address again every few seconds.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sfumato.collector.serving import Collector, UnservablePlanError, start
    from sfumato.collector.settings import Settings

_LAZY = {"start": "serving", "Settings": "settings", "Collector": "serving", "UnservablePlanError": "serving"}
"""The module of every name, which is imported when the name is first used."""

__all__ = ["start", "Settings", "Collector", "UnservablePlanError"]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'sfumato.collector' has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)
