// The API's description in Swagger UI; everything comes from this server.
window.SwaggerUIBundle({
  url: "/api/v1/openapi.json",
  dom_id: "#docs",
  deepLinking: true,
  validatorUrl: null, // the public validator would be a request to another host
  defaultModelsExpandDepth: 0,
});
