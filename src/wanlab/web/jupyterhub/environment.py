"""What a JupyterHub tells the servers that it starts, in the environment."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from wanlab.errors import WanlabError

SECRETS = ("JUPYTERHUB_API_TOKEN", "JPY_API_TOKEN")
ACTIVITY_REAL_S = 300.0
TLS_VARIABLE = "JUPYTERHUB_SSL_CERTFILE"


@dataclass(frozen=True)
class HubEnvironment:
    """The settings of a server.

    address         where to listen: the host and the port
    path            what all paths of the server begin with, without a slash at its end
    api_url         the hub's API, for programs
    sign_in_url     where browsers are sent to sign in; it may have no host
    home_url        the hub's page for users, likewise
    callback_url    where the hub sends them back, likewise
    access_scopes   a user with one of them may use the server
    server_name     of the server among those of its user; "" for the usual one
    activity_url    where to report that the server is in use; "" for services
    """

    address: tuple[str, int]
    path: str
    api_url: str
    token: str
    client_id: str
    sign_in_url: str
    home_url: str
    callback_url: str
    access_scopes: tuple[str, ...]
    server_name: str = ""
    activity_url: str = ""
    activity_real_s: float = ACTIVITY_REAL_S

    @classmethod
    def read(cls, variables: Mapping[str, str]) -> HubEnvironment:
        """Return the settings in environment variables. WanlabError if no JupyterHub has set them."""

        def needed(name: str) -> str:
            if not (value := variables.get(name, "")):
                raise WanlabError(
                    f"--jupyterhub needs the variable {name}",
                    "let a JupyterHub start this command: see wanlab docs jupyterhub",
                )
            return value

        if variables.get(TLS_VARIABLE):
            raise WanlabError(
                "wanlab does not speak TLS with the proxy of a JupyterHub",
                "leave out c.JupyterHub.internal_ssl",
            )
        service = urlsplit(needed("JUPYTERHUB_SERVICE_URL"))
        path = needed("JUPYTERHUB_SERVICE_PREFIX").rstrip("/")
        hub = variables.get("JUPYTERHUB_HOST", "") + variables.get("JUPYTERHUB_BASE_URL", "/")
        return cls(
            address=(service.hostname or "0.0.0.0", service.port or 80),
            path=path,
            api_url=needed("JUPYTERHUB_API_URL").rstrip("/"),
            token=needed("JUPYTERHUB_API_TOKEN"),
            client_id=needed("JUPYTERHUB_CLIENT_ID"),
            sign_in_url=f"{hub}hub/api/oauth2/authorize",
            home_url=f"{hub}hub/home",
            callback_url=variables.get("JUPYTERHUB_OAUTH_CALLBACK_URL") or f"{path}/oauth_callback",
            access_scopes=_access_scopes(variables),
            server_name=variables.get("JUPYTERHUB_SERVER_NAME", ""),
            activity_url=variables.get("JUPYTERHUB_ACTIVITY_URL", ""),
            activity_real_s=float(variables.get("JUPYTERHUB_ACTIVITY_INTERVAL") or ACTIVITY_REAL_S),
        )

    @property
    def callback_path(self) -> str:
        """The path of the callback."""
        return urlsplit(self.callback_url).path


def read_environment() -> HubEnvironment:
    """Return the settings of this process, whose own processes do not get the token."""
    settings = HubEnvironment.read(os.environ)
    for name in SECRETS:
        os.environ.pop(name, None)
    return settings


def _access_scopes(variables: Mapping[str, str]) -> tuple[str, ...]:
    if scopes := variables.get("JUPYTERHUB_OAUTH_ACCESS_SCOPES"):
        return tuple(json.loads(scopes))
    if name := variables.get("JUPYTERHUB_SERVICE_NAME"):
        return (f"access:services!service={name}",)
    return ()  # nobody
