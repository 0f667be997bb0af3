/* A library that others link against, and that is missing under that name at run time. */
int plugin_gone(void) { return 0; }
