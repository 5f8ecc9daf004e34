"""Addresses that cannot be listened on."""

from __future__ import annotations

from pyhudi_expr.service.settings import ServiceSettings


class AddressError(OSError):
    """The address is taken, or not one of this machine."""


def not_listening(settings: ServiceSettings, error: OSError) -> AddressError:
    """Return the error for the address of callers."""
    address = f"{settings.host}:{settings.port}"
    return AddressError(f"cannot listen on {address}: {error.strerror or error}")
