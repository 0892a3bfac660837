"""What opens http and https and nothing else: no file, no FTP, and no redirect, which would lead elsewhere."""

from __future__ import annotations

import urllib.request


def http_only() -> urllib.request.OpenerDirector:
    """An opener without the handlers that would leave the address it is given; other schemes are refused.

    >>> http_only().open("file:///etc/hostname")
    Traceback (most recent call last):
    urllib.error.URLError: <urlopen error unknown url type: file>
    """
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(),
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.HTTPErrorProcessor(),
        urllib.request.UnknownHandler(),
    ):
        opener.add_handler(handler)
    return opener
