"""The HTTP door: one table of operations, from which routes, checks of roles and the OpenAPI document are made."""
