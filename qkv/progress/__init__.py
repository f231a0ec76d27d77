"""Progress and messages for the user, on standard error. The commands and the functions of the API share them."""
