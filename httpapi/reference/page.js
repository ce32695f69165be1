// Shows the document. Requests are not sent from here: those of merchants are signed, and those of
// operators need a token that no page should hold.
SwaggerUIBundle({
  url: document.getElementById("document").dataset.url,
  dom_id: "#document",
  deepLinking: true,
  supportedSubmitMethods: [],
  validatorUrl: "none",
  defaultModelsExpandDepth: 0,
  docExpansion: "list",
});
