//! The server and the command line of dayone.
