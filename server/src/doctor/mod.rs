//! `dayone doctor`: the requests of known readers of virtual media, played against any URL.
