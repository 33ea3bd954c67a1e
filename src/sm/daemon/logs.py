"""The daemon's own log: one JSON object a line, rotated, never a message's text."""

import logging
import logging.handlers
import os
from io import TextIOWrapper

from sm.log import structlog
from sm.settings.config import Settings, size
from sm.settings.home import Home

KEPT = 3


class PrivateFileHandler(logging.handlers.RotatingFileHandler):
    """Closed to others from its first moment, also after a rotation, whatever the umask."""

    def _open(self) -> TextIOWrapper:
        file = os.open(self.baseFilename, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        return TextIOWrapper(os.fdopen(file, "ab"), encoding="utf-8")


def configure(home: Home, settings: Settings) -> None:
    home.logs.mkdir(mode=0o700, parents=True, exist_ok=True)
    handler = PrivateFileHandler(
        home.log, maxBytes=size(settings.daemon.log_size), backupCount=KEPT
    )
    shared: list[structlog.typing.Processor] = [
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
    ]
    handler.setFormatter(
        # Libraries speak the standard way; their lines are to be JSON like ours.
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.JSONRenderer(),
            ],
        )
    )
    level = logging.getLevelNamesMapping()[settings.daemon.log_level.upper()]
    logging.basicConfig(handlers=[handler], level=level, force=True)
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
