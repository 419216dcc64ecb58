//! Every command of `editqueue`, and what the daemon is asked to do for it.

use serde_json::{Value, json};

use crate::daemon;

/// The command with its parameter and ids, whether it says that something was done, and what was.
type Row = (&'static str, &'static str, &'static [u32], Result<bool, i64>, &'static [&'static str]);

const COMMANDS: [Row; 63] = [
    ("FileMoveOffset", "-2", &[1_000_001], Ok(true), &["Files { files: [0], what: By(-2) } [7]"]),
    ("FileMoveTop", "", &[1_000_001], Ok(true), &["Files { files: [0], what: Top } [7]"]),
    ("FileMoveBottom", "", &[1_000_001], Ok(true), &["Files { files: [0], what: Bottom } [7]"]),
    (
        "FilePause",
        "",
        &[1_000_002, 1_000_001],
        Ok(true),
        &["Files { files: [1, 0], what: Pause } [7]"],
    ),
    ("FileResume", "", &[1_000_001], Ok(true), &["Files { files: [0], what: Resume } [7]"]),
    ("FileDelete", "", &[1_000_001], Ok(true), &["Files { files: [0], what: Delete } [7]"]),
    ("FileDelete", "", &[7], Ok(true), &["Delete(ToHistory) [7]"]),
    (
        "FilePauseAllPars",
        "",
        &[1_000_001, 1_000_002, 1_000_003],
        Ok(true),
        &["Files { files: [1, 2], what: Pause } [7]"],
    ),
    (
        "FilePauseExtraPars",
        "",
        &[1_000_001, 1_000_002, 1_000_003],
        Ok(true),
        &["Files { files: [2], what: Pause } [7]"],
    ),
    (
        "FileReorder",
        "",
        &[1_000_002, 1_000_001],
        Ok(true),
        &["Files { files: [1, 0], what: Reorder } [7]"],
    ),
    ("FileSplit", "new", &[1_000_001, 1_000_002], Ok(true), &["split [0, 1] of 7 as new"]),
    ("FilePause", "", &[5], Ok(false), &[]),
    ("GroupMoveOffset", "3", &[7], Ok(true), &["Move(By(3)) [7]"]),
    ("GroupMoveTop", "", &[7], Ok(true), &["Move(Top) [7]"]),
    ("GroupMoveBottom", "", &[7], Ok(true), &["Move(Bottom) [7]"]),
    ("GroupMoveBefore", "8", &[7], Ok(true), &["Move(Before(JobId(8))) [7]"]),
    ("GroupMoveAfter", "8", &[7], Ok(true), &["Move(After(JobId(8))) [7]"]),
    ("GroupPause", "", &[7, 8, 7], Ok(true), &["Pause [7, 8]"]),
    ("GroupPause", "", &[4], Ok(false), &["Pause [4]"]),
    ("GroupPause", "", &[], Err(2), &[]),
    ("GroupResume", "", &[7], Ok(true), &["Resume [7]"]),
    ("GroupPauseAllPars", "", &[7], Ok(true), &["Files { files: [1, 2], what: Pause } [7]"]),
    ("GroupPauseExtraPars", "", &[7], Ok(true), &["Files { files: [2], what: Pause } [7]"]),
    ("GroupMerge", "", &[7, 8, 7], Ok(true), &["merge [7, 8]"]),
    ("GroupMerge", "", &[7, 100], Err(3), &["merge [7, 100]"]),
    (
        "GroupSortFiles",
        "",
        &[7, 400],
        Ok(true),
        &["Files { files: [3, 0, 1, 2], what: Reorder } [7]"],
    ),
    ("GroupSortFiles", "", &[400], Ok(false), &[]),
    ("GroupDelete", "", &[7], Ok(true), &["Delete(ToHistory) [7]"]),
    ("GroupParkDelete", "", &[7], Ok(true), &["Delete(Park) [7]"]),
    ("GroupDupeDelete", "", &[7], Ok(true), &["Delete(AsDuplicate) [7]"]),
    ("GroupFinalDelete", "", &[7], Ok(true), &["Delete(Finally) [7]"]),
    ("GroupFinalDelete", "", &[7, 4], Ok(true), &["Delete(Finally) [7, 4]", "History(Delete) [4]"]),
    (
        "GroupFinalDelete",
        "",
        &[400],
        Ok(false),
        &["Delete(Finally) [400]", "History(Delete) [400]"],
    ),
    ("GroupSetPriority", "900", &[7], Ok(true), &["SetPriority(900) [7]"]),
    ("GroupSetPriority", "high", &[7], Err(2), &[]),
    ("GroupSetCategory", "tv", &[7], Ok(true), &["SetCategory(Some(\"tv\")) [7]"]),
    ("GroupApplyCategory", "", &[7], Ok(true), &["SetCategory(None) [7]"]),
    (
        "GroupSetParameter",
        "a=b=c",
        &[7],
        Ok(true),
        &["SetParameter { name: \"a\", value: \"b=c\" } [7]"],
    ),
    ("HistorySetParameter", "a", &[4], Err(2), &[]),
    ("GroupSetName", "B", &[7], Ok(true), &["SetName(\"B\") [7]"]),
    ("HistorySetName", "B", &[7], Ok(true), &["SetName(\"B\") [7]"]),
    ("GroupSetDupeKey", "k", &[7], Ok(true), &["SetDupeKey(\"k\") [7]"]),
    ("GroupSetDupeScore", "-5", &[7], Ok(true), &["SetDupeScore(-5) [7]"]),
    ("GroupSetDupeMode", "FORCE", &[7], Ok(true), &["SetDupeMode(Force) [7]"]),
    ("HistorySetDupeMode", "never", &[7], Err(2), &[]),
    ("GroupSort", "left-", &[], Ok(true), &["Sort { by: Left, descending: true } []"]),
    ("GroupSort", "name+", &[7, 8], Ok(true), &["Sort { by: Name, descending: false } [7, 8]"]),
    ("PostDelete", "", &[8], Ok(true), &["Delete(Park) [8]"]),
    ("HistoryDelete", "", &[4], Ok(true), &["History(Hide) [4]"]),
    ("HistoryFinalDelete", "", &[4], Ok(true), &["History(Delete) [4]"]),
    ("HistoryFinalDelete", "", &[7], Ok(true), &["History(Delete) [7]", "Delete(Finally) [7]"]),
    ("HistoryReturn", "", &[4], Ok(true), &["History(Retry) [4]"]),
    ("HistoryProcess", "", &[4], Ok(true), &["History(Process) [4]"]),
    ("HistoryRedownload", "", &[4], Ok(true), &["History(Redownload) [4]"]),
    ("HistoryRetryFailed", "", &[4], Ok(true), &["History(Retry) [4]"]),
    ("HistorySetCategory", "tv", &[7], Ok(true), &["SetCategory(Some(\"tv\")) [7]"]),
    ("HistorySetDupeBackup", "1", &[4], Ok(true), &["History(Backup(true)) [4]"]),
    ("HistorySetDupeBackup", "0", &[4], Ok(true), &["History(Backup(false)) [4]"]),
    ("HistorySetDupeBackup", "maybe", &[4], Err(2), &[]),
    ("HistoryMarkBad", "", &[4], Ok(true), &["History(Mark(Bad)) [4]"]),
    ("HistoryMarkGood", "", &[4], Ok(true), &["History(Mark(Good)) [4]"]),
    ("HistoryMarkSuccess", "", &[4], Ok(true), &["History(Mark(Success)) [4]"]),
    ("FileSetPriority", "1", &[1_000_001], Err(3), &[]),
];

#[test]
fn every_command_is_carried_out_in_all_its_forms() {
    let daemon = daemon::start();
    let mut client = daemon.client();
    for (command, param, ids, expected, asked) in COMMANDS {
        let shout = command.to_uppercase();
        for params in [json!([command, param, ids]), json!([shout, 0, param, ids])] {
            let answer = client.call("editqueue", params.clone());
            let outcome = match answer {
                Ok(Value::Bool(done)) => Ok(done),
                Err(bergamot_rpc::ClientError::Refused { number, .. }) => Err(number),
                other => panic!("{params}: {other:?}"),
            };
            assert_eq!(outcome, expected, "{params}");
            assert_eq!(daemon.control.take_done(), asked, "{params}");
        }
    }
}
