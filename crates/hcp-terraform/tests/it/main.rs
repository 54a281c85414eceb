//! The client against servers whose answers are scripted.
