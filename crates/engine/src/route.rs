//! Which servers an article may be asked of.

use bergamot_types::{ServerId, UnixTime};

use crate::server::Server;
use crate::tries::Tries;

/// Where an article goes next.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Route {
    /// Ask any of these, or wait until one of them can be asked.
    Ask(Vec<ServerId>),
    /// Every server has answered for it.
    Exhausted,
    /// Only servers that are excused for now have not answered.
    Wait,
}

/// An article moves up a level only when every server below has answered for it; a server that is
/// busy or unreachable has not.
pub(crate) fn route(
    servers: &[Server],
    tries: &Tries,
    posted: Option<UnixTime>,
    today: UnixTime,
) -> Route {
    if let Some(wanted) = tries.wanted_server()
        && servers.iter().any(|server| server.id() == wanted && !server.is_excused())
    {
        return Route::Ask(vec![wanted]);
    }
    let open: Vec<_> = servers
        .iter()
        .filter(|server| server.is_active() && !has_answered(servers, server, tries))
        .filter(|server| !is_too_old(server, posted, today))
        .collect();
    let askable = open.iter().filter(|server| !server.is_excused());
    let Some(level) = askable.clone().map(|server| server.settings.level).min() else {
        // Without any server there is nobody who could have answered.
        let nobody = !servers.iter().any(Server::is_active);
        let waits = nobody || open.iter().any(|server| !server.settings.optional);
        return if waits { Route::Wait } else { Route::Exhausted };
    };
    Route::Ask(
        askable.filter(|server| server.settings.level == level).map(|server| server.id()).collect(),
    )
}

/// What one mirror does not have, none of its group has.
fn has_answered(servers: &[Server], server: &Server, tries: &Tries) -> bool {
    let group = server.settings.group;
    let mirrors = servers.iter().filter(|other| group > 0 && other.settings.group == group);
    tries.answered(server.id()) || mirrors.into_iter().any(|mirror| tries.missing_at(mirror.id()))
}

fn is_too_old(server: &Server, posted: Option<UnixTime>, today: UnixTime) -> bool {
    let retention = u64::from(server.settings.retention);
    retention > 0 && posted.is_some_and(|posted| today.days_since(posted) > retention)
}
