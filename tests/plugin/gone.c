/* Linked against, and then not there under the name that it was linked by. */
int plugin_gone(void) { return 0; }
