"""A message sent through Apprise: to mail, Slack, Teams, and a hundred other services."""

from __future__ import annotations

from pydantic import Field

from assay.flows.notifiers.choice import VARIABLE, Message, NotifierChoice, NotifierSettings, NotSentError
from assay.infra.errors import require_library
from assay.infra.storage.network import secret_addresses
from assay.infra.terminal import quietened


class Services(NotifierSettings):
    """Mail, Slack, Teams and a hundred others, by Apprise (extra `notify`)."""

    url_from: str = Field(pattern=VARIABLE, examples=["ASSAY_APPRISE_URLS"])
    """The environment variable with Apprise's URLs, blanks between them."""


def send(message: Message, services: Services) -> None:
    """Send the message through Apprise, to every URL in the variable."""
    addresses = secret_addresses(services.url_from)
    require_library("apprise", "Apprise", "notify")
    import apprise

    kind = apprise.NotifyType.INFO if message.test else apprise.NotifyType.WARNING
    # Apprise and what it sends with write addresses down where somebody logs in detail.
    with quietened("apprise", "urllib3", "requests", "asyncio"):
        known = apprise.Apprise()
        wrong = sum(not known.add(address) for address in addresses)
        if wrong:
            raise NotSentError(f"Apprise does not know {wrong} of the {len(addresses)} URLs in {services.url_from}")
        if not known.notify(title=message.title, body=message.text, notify_type=kind):
            raise NotSentError("Apprise could not deliver it to all of the services")


APPRISE = NotifierChoice("apprise", Services, send, "{url_from: APPRISE_URLS}")
