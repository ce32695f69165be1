// Behaviour of the console's pages beyond htmx.
