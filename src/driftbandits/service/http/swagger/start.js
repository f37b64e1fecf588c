"use strict";

const dark = matchMedia("(prefers-color-scheme: dark)");
const follow = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", follow);
follow();

SwaggerUIBundle({
  url: "openapi.json",
  dom_id: "#reference",
  deepLinking: true,
  defaultModelsExpandDepth: 0,
  docExpansion: "list",
  displayRequestDuration: true,
  tryItOutEnabled: true,
  persistAuthorization: false, // a token stays in this page's memory
  validatorUrl: null, // asks nobody else
  queryConfigEnabled: false, // a link cannot point the page, and a token typed into it, elsewhere
});
