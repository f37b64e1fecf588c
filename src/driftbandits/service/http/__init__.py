"""The service's HTTP: routes, the JSON they speak, who may call them, and every refusal."""
