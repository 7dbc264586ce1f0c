//! What the acceptance tests share: finding the peers, making bases, running the binary.
