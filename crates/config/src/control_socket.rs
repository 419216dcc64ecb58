//! The usual paths of the control socket, where none is configured. Pure.

use std::path::{Path, PathBuf};

use crate::identity::CONTAINER_VARIABLE;

/// The places to look at, the first one first. `state` is the state directory, where it is known.
pub fn usual(environment: impl Fn(&str) -> Option<String>, state: Option<&Path>) -> Vec<PathBuf> {
    let set = |name: &str| environment(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(path) = set("BERGAMOT_SOCKET") {
        // Not every volume takes a socket, and the root of a container may not be written to.
        let in_memory = set(CONTAINER_VARIABLE).map(|_| Path::new(SHARED_MEMORY).join(NAME));
        return [path].into_iter().chain(in_memory).collect();
    }
    let system = Path::new(SYSTEM).is_dir().then(|| Path::new(SYSTEM).join(NAME));
    let session = set("XDG_RUNTIME_DIR").map(|directory| directory.join(NAME));
    let own = state.map(|state| state.join(NAME));
    system.into_iter().chain(session).chain(own).collect()
}

/// Engines give it to every container.
const SHARED_MEMORY: &str = "/dev/shm";
const SYSTEM: &str = "/run/bergamot";
const NAME: &str = "bergamot.sock";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_set_goes_before_what_is_usual() {
        let given = |name: &str| match name {
            "BERGAMOT_SOCKET" => Some("/a/b".to_owned()),
            "XDG_RUNTIME_DIR" => Some("/run/user/7".to_owned()),
            _ => None,
        };
        assert_eq!(usual(given, Some(Path::new("/s"))), [PathBuf::from("/a/b")]);
        let contained = |name: &str| (name != "XDG_RUNTIME_DIR").then(|| "/a/b".to_owned());
        let found = usual(contained, Some(Path::new("/s")));
        assert_eq!(found, ["/a/b", "/dev/shm/bergamot.sock"].map(PathBuf::from));
        let session = |name: &str| (name == "XDG_RUNTIME_DIR").then(|| "/run/user/7".to_owned());
        let found = usual(session, Some(Path::new("/s")));
        assert!(found.ends_with(&["/run/user/7/bergamot.sock".into(), "/s/bergamot.sock".into()]));
        assert!(usual(|_| Some(String::new()), None).len() <= 1);
    }
}
