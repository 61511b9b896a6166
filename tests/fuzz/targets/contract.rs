//! A contract is whatever somebody sends; so is a registry of agents.
#![no_main]

use git_oracle::contract::Registry;
use git_oracle::contract::Surroundings;
use git_oracle::contract::validate;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let around = Surroundings { registry: &Registry::embedded(), file: &|_| None };
    if let Ok((contract, _)) = validate(bytes, &around) {
        assert!(!contract.scope.entries().is_empty());
    }
    let _ = Registry::with_agents(bytes);
});
