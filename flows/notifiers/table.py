"""The notifiers that pipelines.yaml can name, and what `notify:` may say.

A new notifier is a module of its own, and a line here; Apprise, which sends by itself, stands here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

from pydantic import Field, create_model, model_validator

from assay.flows.notifiers.choice import VARIABLE, Message, Notifier, NotifierChoice, NotifierSettings, NotSentError
from assay.flows.notifiers.webhook import WEBHOOK
from assay.infra.errors import require_library
from assay.infra.settings import Settings, optional_field
from assay.infra.storage.network import secret_addresses
from assay.infra.terminal import quietened
from assay.infra.user_code.choices import NamedChoices


class Services(NotifierSettings):
    """Mail, Slack, Teams and a hundred others, by Apprise (extra `notify`)."""

    url_from: str = Field(pattern=VARIABLE, examples=["ASSAY_APPRISE_URLS"])
    """The environment variable with Apprise's URLs, blanks between them."""


def send_by_apprise(message: Message, services: Services) -> None:
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


APPRISE = NotifierChoice("apprise", Services, send_by_apprise, "{url_from: APPRISE_URLS}")

NOTIFIERS = NamedChoices("notifier", "assay.notifiers", NotifierChoice, (WEBHOOK, APPRISE))


class Notifying(Settings):
    """Who hears when a pipeline's state has changed: red, green again, broken, or a night that did not happen."""

    table: ClassVar[NamedChoices[NotifierChoice]] = NOTIFIERS

    report_url: str | None = Field(default=None, pattern=r"^https?://\S+$", examples=["https://audits.example/reports"])
    """Where the store's folder `reports` can be opened, for links in messages."""

    at_latest: int = Field(default=60, ge=0, le=1440)
    """At most so many minutes a message waits for other runs."""

    grace: int = Field(default=30, ge=1, le=1440)
    """How many minutes after its time a night without a run is missed."""

    @property
    def notifiers(self) -> list[Notifier]:
        """The notifiers that the project asks for, in the order of the table."""
        asked = [(choice, getattr(self, choice.word, None)) for choice in self.table]
        return [Notifier(choice, settings) for choice, settings in asked if settings is not None]

    @model_validator(mode="after")
    def _somebody_hears(self) -> Self:
        if not self.notifiers:
            raise ValueError(f"nobody would hear: give {' or '.join(self.table.words)}")
        return self


def notify_settings(table: NamedChoices[NotifierChoice]) -> type[Notifying]:
    """The settings of `notify` that can name these notifiers."""
    written = {word: reference for reference, word in table.references.items()}
    fields: dict[str, Any] = {}
    for choice in table:
        alias = written.get(choice.word)  # a notifier of somebody's own stands under `module:object`
        fields[choice.word] = optional_field(choice.settings, choice.example, alias)
    model = create_model("Notify", __base__=Notifying, __module__=__name__, __doc__=Notifying.__doc__, **fields)
    model.table = table
    return model


if TYPE_CHECKING:
    Notify = Notifying
else:
    Notify = notify_settings(NOTIFIERS)
