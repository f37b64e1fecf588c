"""The service's HTTP: routes, the JSON they exchange, who may call them, and every refusal."""
