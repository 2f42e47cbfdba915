"""The collector: it takes reports, keeps them, shows the picture and sends the model home.

``form`` (a report off the wire and its row), ``store`` (where rows are kept), ``writer``; ``service`` with what
anybody (``public``) and what an analyst may ask (``analyst``), as an ``application`` that ``run`` serves; ``picture``
(figures and dashboard), ``work`` and ``jobs`` (in other processes); ``simulate`` (a crowd of devices).
"""
