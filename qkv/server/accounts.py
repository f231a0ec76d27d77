"""The API key of a request, wherever its interface puts it, and the account that it belongs to."""

from starlette.requests import Request

from qkv.server.errors import ApiError
from qkv.server.keys import Account
from qkv.server.operations import Operation
from qkv.server.reading import Given
from qkv.server.state import State

SCHEMES = ("deepl-auth-key", "bearer")
NAMES = ("api_key", "auth_key")


def key_of(request: Request, given: Given) -> str:
    """The key in the Authorization header or in a field; empty if there is none."""
    scheme, _, key = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() in SCHEMES and key.strip():
        return key.strip()
    for name in NAMES:
        value = given.values.get(name)
        if isinstance(value, str) and value:
            return value
    return ""


def account_of(state: State, operation: Operation, request: Request, given: Given) -> Account | None:
    """The account of a request; None if the server has no keys.

    Raises:
        ApiError: The key is missing or wrong, in the words of the interface.
    """
    if state.keys is None:
        return None
    key = key_of(request, given)
    account = state.keys.find(key) if key else None
    if account is not None:
        return account
    if operation.style == "libretranslate":
        if key:
            raise ApiError(403, "Invalid API key")
        address = state.options.key_address or "the operator of this server"
        raise ApiError(400, f"Visit {address} to get an API key")
    if operation.style == "deepl":
        raise ApiError(403, "Authorization failed. Check the API key.")
    raise ApiError(401, "The API key is missing or wrong.")
