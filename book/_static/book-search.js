/* A page opened as a file may not read other files: search then lists titles without excerpts. */
if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
