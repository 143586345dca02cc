"""Authorization: operations, resources, and the port to the authorizer that decides about them."""
