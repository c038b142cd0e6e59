use std::{
    collections::{BTreeMap, VecDeque},
    future::{pending, ready},
    sync::{Arc, Mutex},
    time::Duration,
};

use tokio::{
    sync::mpsc,
    time::{Instant, sleep, timeout},
};

use assay_address::ChainId;

use super::*;

/// Stage with given outcomes that records its calls.
struct Given {
    begun: Instant,
    looks: VecDeque<Result<Target, FailureKind>>,
    /// Duration of a step.
    takes: Duration,
    /// Calls, each with the seconds after which it came.
    noted: Arc<Mutex<Vec<(u64, String)>>>,
}

impl Given {
    fn new(looks: impl IntoIterator<Item = Result<Target, FailureKind>>) -> Self {
        let (looks, noted) = (looks.into_iter().collect(), Arc::default());
        Self { begun: Instant::now(), looks, takes: Duration::ZERO, noted }
    }

    fn note(&self, what: impl Into<String>) {
        self.noted.lock().unwrap().push((self.begun.elapsed().as_secs(), what.into()));
    }

    /// Returns the seconds at which a call came.
    fn seconds_of(&self, what: &str) -> Vec<u64> {
        let noted = self.noted.lock().unwrap();
        noted.iter().filter(|(_, noted)| noted == what).map(|(at, _)| *at).collect()
    }
}

impl Stage for Given {
    type Error = FailureKind;

    fn id(&self) -> StageId {
        StageId { work: "given", chain: ChainId::BTC }
    }

    async fn target(&mut self) -> Result<Target, FailureKind> {
        self.note("target");
        match self.looks.pop_front() {
            Some(look) => look,
            None => pending().await,
        }
    }

    async fn execute(&mut self, to: u64) -> Result<(), FailureKind> {
        sleep(self.takes).await;
        self.note(format!("execute to {to}"));
        Ok(())
    }

    async fn unwind(&mut self, to: Option<u64>) -> Result<(), FailureKind> {
        self.note(format!("unwind to {to:?}"));
        Ok(())
    }
}

impl RunStage for Given {
    fn failure(&self, error: &FailureKind) -> FailureKind {
        *error
    }

    fn release(&mut self) {
        self.note("release");
    }

    fn failed(&mut self, _: &FailureKind, _: FailureKind, _: Duration, is_new: bool) {
        self.note(if is_new { "failed" } else { "failed again" });
    }

    fn recovered(&mut self, from: FailureKind) {
        self.note(format!("recovered from {from:?}"));
    }

    fn publish(&self) {
        self.note("publish");
    }
}

const KEPT: Schedule = Schedule { poll: Some(Duration::from_secs(2)), restart: None, lock: None };

const RESTARTED: Schedule = Schedule { restart: Some(Duration::from_secs(10)), ..KEPT };

/// Runs a stage for a day, or until it ends.
async fn run_for_a_day(stage: &mut Given, schedule: &Schedule) -> Option<Result<(), FailureKind>> {
    timeout(Duration::from_hours(24), run(stage, schedule)).await.ok()
}

#[tokio::test(start_paused = true)]
async fn a_stage_takes_back_what_is_gone_before_it_goes_on() {
    let looks = [Target::Branched(Some(4)), Target::Ahead(6), Target::Ahead(6), Target::Reached];
    let mut stage = Given::new(looks.map(Ok));
    let ended = run_for_a_day(&mut stage, &Schedule::default()).await;
    assert_eq!(ended, Some(Ok(())));
    let noted = stage.noted.lock().unwrap().clone();
    let asked = noted.iter().map(|(_, what)| &**what).filter(|what| what.contains(" to "));
    assert_eq!(asked.collect::<Vec<_>>(), ["unwind to Some(4)", "execute to 6", "execute to 6"]);
    assert_eq!(stage.seconds_of("publish").len(), 4, "after each step");
}

#[tokio::test(start_paused = true)]
async fn a_stage_at_its_target_is_looked_at_in_intervals() {
    let looks = [Target::Reached, Target::Ahead(1), Target::Reached];
    let mut stage = Given::new(looks.map(Ok));
    assert_eq!(run_for_a_day(&mut stage, &KEPT).await, None);
    assert_eq!(stage.seconds_of("target"), [0, 2, 2, 4]);
}

#[tokio::test(start_paused = true)]
async fn pauses_after_failures_double_up_to_a_minute() {
    let fails = [Err(FailureKind::Unavailable); 8];
    let mut stage = Given::new(fails.into_iter().chain([Ok(Target::Ahead(1)), fails[0]]));
    assert_eq!(run_for_a_day(&mut stage, &KEPT).await, None);
    // 1, 2, 4, 8, 16, 32, 60 and 60 s; after a step 1 s.
    assert_eq!(stage.seconds_of("target"), [0, 1, 3, 7, 15, 31, 63, 123, 183, 183, 184]);
    assert_eq!(
        (stage.seconds_of("failed"), stage.seconds_of("failed again").len()),
        (vec![0, 183], 7)
    );
    assert_eq!(stage.seconds_of("recovered from Unavailable"), [183]);
    assert_eq!(stage.seconds_of("release").len(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_stage_that_does_not_fit_is_compared_once_more_at_once() {
    let mut stage = Given::new([Err(FailureKind::Stray); 3]);
    assert_eq!(run_for_a_day(&mut stage, &KEPT).await, None);
    assert_eq!(stage.seconds_of("target"), [0, 0, 1, 3]);
    assert_eq!(stage.seconds_of("failed").len(), 1, "the first one is not told");
}

#[tokio::test(start_paused = true)]
async fn without_a_restart_other_failures_end_the_stage() {
    for failure in [FailureKind::Permanent, FailureKind::Busy] {
        let mut stage = Given::new([Err(failure)]);
        assert_eq!(run_for_a_day(&mut stage, &KEPT).await, Some(Err(failure)));
    }
    // A stage that is not kept up to date waits for a reorganization alone, and not for long.
    for (failure, looks) in [
        (FailureKind::Unavailable, 1),
        (FailureKind::Stray, 2),
        (FailureKind::Reorganized, 1 + RETRIES),
    ] {
        let mut stage = Given::new([Err(failure); 9]);
        let ended = run_for_a_day(&mut stage, &Schedule::default()).await;
        assert_eq!(ended, Some(Err(failure)));
        assert_eq!(
            stage.seconds_of("target").len(),
            usize::try_from(looks).unwrap(),
            "{failure:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_stage_is_released_and_tried_again() {
    let busy = [Err(FailureKind::Busy), Err(FailureKind::Busy)];
    let fails = [Err(FailureKind::Permanent); 5];
    let mut stage = Given::new(busy.into_iter().chain(fails));
    assert_eq!(run_for_a_day(&mut stage, &RESTARTED).await, None);
    // 10 s each while another program works; then 10, 20, 40, 60 and 60 s.
    assert_eq!(stage.seconds_of("target"), [0, 10, 20, 30, 50, 90, 150, 210]);
    assert_eq!(stage.seconds_of("release"), [0, 10, 20, 30, 50, 90, 150]);
    assert_eq!(stage.seconds_of("failed"), [0, 20], "each kind once");
}

#[tokio::test(start_paused = true)]
async fn a_stage_that_did_well_for_a_while_begins_with_the_first_pause() {
    let well = [Ok(Target::Reached); 40];
    let fails = [Err(FailureKind::Permanent); 2];
    let mut stage = Given::new(fails.into_iter().chain(well).chain(fails));
    assert_eq!(run_for_a_day(&mut stage, &RESTARTED).await, None);
    // 40 looks in intervals of 2 s, from the second 30 on.
    assert_eq!(stage.seconds_of("release"), [0, 10, 110, 120]);
    assert_eq!(stage.seconds_of("target").last(), Some(&140));
}

#[tokio::test(start_paused = true)]
async fn stages_with_one_turn_take_half_of_the_time_together() {
    let schedule = Schedule { lock: Some(StageLock::default()), ..KEPT };
    let of = |_| {
        let stage = Given::new([Ok(Target::Ahead(1)); 2]);
        Given { takes: Duration::from_secs(5), ..stage }
    };
    let [mut one, mut other] = [0, 1].map(of);
    let both = async { tokio::join!(run(&mut one, &schedule), run(&mut other, &schedule)) };
    let _ = timeout(Duration::from_mins(5), both).await;
    assert_eq!(one.seconds_of("execute to 1"), [5, 25]);
    assert_eq!(other.seconds_of("execute to 1"), [15, 35]);
}

#[tokio::test(start_paused = true)]
async fn a_task_runs_while_it_is_wanted_as_it_is_wanted() {
    /// Reports its end.
    struct Ended(mpsc::UnboundedSender<String>, String);
    impl Drop for Ended {
        fn drop(&mut self) {
            let _ = self.0.send(format!("{} ended", self.1));
        }
    }
    let (sender, mut told) = mpsc::unbounded_channel();
    let mut wanted = VecDeque::from([
        Some(vec![("btc", 1), ("ltc", 1)]),
        // What cannot be told changes nothing.
        None,
        Some(vec![("btc", 2), ("ltc", 1)]),
        Some(vec![("ltc", 1)]),
    ]);
    let wanted = || ready(wanted.pop_front().flatten().map(BTreeMap::from_iter));
    let start = |key: &&str, value: &i32| {
        let ended = Ended(sender.clone(), format!("{key} {value}"));
        let _ = sender.send(format!("{} begun", ended.1));
        async move {
            let _ended = ended;
            pending::<()>().await;
        }
    };
    let keeping = supervise(Duration::from_secs(1), wanted, start);
    assert!(timeout(Duration::from_mins(1), keeping).await.is_err());
    drop(sender);
    let mut all = Vec::new();
    while let Some(one) = told.recv().await {
        all.push(one);
    }
    let begun = all.iter().filter(|it| it.ends_with("begun")).collect::<Vec<_>>();
    assert_eq!(begun, ["btc 1 begun", "ltc 1 begun", "btc 2 begun"]);
    let ended = all.iter().filter(|it| it.ends_with("ended")).collect::<Vec<_>>();
    assert_eq!(ended, ["btc 1 ended", "btc 2 ended", "ltc 1 ended"], "the last with the rest");
}
