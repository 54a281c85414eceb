//! Random sequences of changes against a model of which task must run.

use proptest::prelude::*;

use super::later::{desired, requested};
use super::*;

const TASKS: [&str; 3] = ["a", "b", "c"];
const SERVICES: [&str; 4] = ["api", "db", "mail", "web"];

#[derive(Debug, Clone, Copy)]
enum Step {
    /// The task has these views from now on, and possibly a request of a run.
    Put {
        task: usize,
        views: [bool; 4],
        request: Option<RunKind>,
        buffered: bool,
    },
    Remove(usize),
    /// The content of the service in Consul changes.
    Change(usize),
    /// The watcher sends the newest content of a service, in full or as a delta.
    Send {
        service: usize,
        full: bool,
    },
    /// The watcher sends a delta that builds on something else.
    Misfit(usize),
    TakeDue {
        after: u64,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let kind = prop::option::of(prop::sample::select(vec![RunKind::Check, RunKind::Apply]));
    prop_oneof![
        3 => (0..3_usize, any::<[bool; 4]>(), kind, any::<bool>()).prop_map(
            |(task, views, request, buffered)| Step::Put { task, views, request, buffered }
        ),
        1 => (0..3_usize).prop_map(Step::Remove),
        4 => (0..4_usize).prop_map(Step::Change),
        6 => (0..4_usize, any::<bool>()).prop_map(|(service, full)| Step::Send { service, full }),
        1 => (0..4_usize).prop_map(Step::Misfit),
        4 => (0..30_u64).prop_map(|after| Step::TakeDue { after }),
    ]
}

#[derive(Debug, Default)]
struct ModelTask {
    spec: Option<TaskSpec>,
    requests: Vec<RequestedRun>,
    /// A change that it must still be frozen for.
    owed: bool,
}

struct Model {
    planner: Planner,
    now: Duration,
    tasks: [ModelTask; 3],
    /// The state of Consul: the port of the only instance of each service.
    content: [i64; 4],
    /// The state of the planner, with its revision; forgotten when no task uses the view.
    read: [Option<(i64, u64)>; 4],
    revision: u64,
    runs: u32,
}

impl Model {
    fn new() -> Self {
        let mut planner = Planner::new(&[]);
        planner.reconcile([], Duration::ZERO);
        Self {
            planner,
            now: Duration::ZERO,
            tasks: Default::default(),
            content: [1; 4],
            read: [None; 4],
            revision: 0,
            runs: 0,
        }
    }

    fn users(&self, service: usize) -> impl Iterator<Item = usize> + '_ {
        (0..TASKS.len()).filter(move |&task| self.uses(task).any(|used| used == service))
    }

    fn uses(&self, task: usize) -> impl Iterator<Item = usize> + '_ {
        let spec = self.tasks[task].spec.as_ref();
        let names = spec.and_then(|spec| match &spec.definition.condition {
            Condition::Services(services) => Some(&services.query.names),
            _ => None,
        });
        let service = |name: &String| SERVICES.iter().position(|service| service == name);
        names.into_iter().flatten().filter_map(service)
    }

    fn reconcile(&mut self) {
        let before: Vec<ViewId> = self.planner.views().iter().map(View::id).collect();
        let desired = self.tasks.iter().filter_map(|task| {
            let spec = task.spec.as_ref()?;
            Some(desired(spec, TaskMode::Active, task.requests.clone()))
        });
        let others = self.planner.reconcile(desired, self.now);
        let mut views: Vec<ViewId> = self.planner.views().iter().map(View::id).collect();
        let mut old = before;
        views.sort();
        old.sort();
        assert_eq!(others, views != old, "the caller learns of other views");
        for service in 0..SERVICES.len() {
            if self.users(service).next().is_none() {
                self.read[service] = None;
            }
        }
    }

    fn observe(&mut self, service: usize, full: bool) {
        let used = self.users(service).next().is_some();
        let content = instance(SERVICES[service], "i", self.content[service]);
        self.revision += 1;
        let after = ViewSnapshot::new(self.revision, [content]);
        let known = self.read[service];
        let delta = match known {
            Some((port, revision)) if !full => {
                let before = instance(SERVICES[service], "i", port);
                after.delta_from(Some(&ViewSnapshot::new(revision, [before])))
            }
            _ => after.delta_from(None),
        };
        let view = id(SERVICES[service]);
        self.planner.observe(&view, delta, self.now).unwrap();
        if !used {
            return;
        }
        if known.is_some_and(|(port, _)| port != self.content[service]) {
            for task in self.users(service).collect::<Vec<_>>() {
                self.tasks[task].owed = true;
            }
        }
        self.read[service] = Some((self.content[service], self.revision));
    }

    fn take_due(&mut self) {
        let times = self.planner.tasks.values().filter_map(Entry::next);
        assert_eq!(
            self.planner.next_due(),
            times.min(),
            "the agenda knows every task"
        );
        let was_due = self.planner.next_due().is_some_and(|due| due <= self.now);
        let due = self.planner.take_due(self.now);
        let taken = !due.tasks.is_empty() || !due.overdue.is_empty();
        assert_eq!(was_due, taken, "what is due is taken, so nothing spins");
        for due in &due.tasks {
            let name = due.definition.name.as_str();
            let task = TASKS.iter().position(|task| *task == name).unwrap();
            let mut expected: Vec<_> = self.uses(task).collect();
            expected.sort_unstable();
            let expected: Vec<_> = expected
                .into_iter()
                .map(|service| (SERVICES[service], self.read[service].unwrap().0))
                .collect();
            let services = services(due);
            let frozen: Vec<_> = services
                .iter()
                .map(|instance| (instance.name.as_str(), instance.port))
                .collect();
            assert_eq!(frozen, expected, "all views, each with what was read last");
            match due.reason {
                EnqueueReason::Change { .. } => self.tasks[task].owed = false,
                EnqueueReason::Request(requested) => {
                    let requests = &mut self.tasks[task].requests;
                    requests.retain(|open| open.run != requested.run);
                }
            }
        }
        for overdue in &due.overdue {
            assert!(overdue.incomplete.is_some());
            for task in &mut self.tasks {
                let open = |open: &RequestedRun| open.run == overdue.requested.run;
                let apply = task.requests.extract_if(.., |requested| open(requested));
                if apply
                    .into_iter()
                    .any(|requested| requested.kind == RunKind::Apply)
                {
                    task.owed = true;
                }
            }
        }
    }

    fn does(&mut self, step: Step) {
        match step {
            Step::Put {
                task,
                views,
                request,
                buffered,
            } => {
                let names: Vec<&str> = (0..4)
                    .filter(|&view| views[view])
                    .map(|view| SERVICES[view])
                    .collect();
                let period = if buffered {
                    BufferPeriod::BUILT_IN
                } else {
                    BufferPeriod::DISABLED
                };
                self.tasks[task].spec = Some(self::task(TASKS[task], &names, period));
                if let Some(kind) = request {
                    self.runs += 1;
                    self.tasks[task].requests.push(requested(self.runs, kind));
                }
                self.reconcile();
            }
            Step::Remove(task) => {
                self.tasks[task] = ModelTask::default();
                self.reconcile();
            }
            Step::Change(service) => self.content[service] += 1,
            Step::Send { service, full } => self.observe(service, full),
            Step::Misfit(service) => {
                let delta = ViewDelta {
                    base: Some(u64::MAX),
                    revision: 1,
                    upserts: Vec::new(),
                    removals: Vec::new(),
                    trace: None,
                };
                let known = self.users(service).next().is_some();
                let refused = self
                    .planner
                    .observe(&id(SERVICES[service]), delta, self.now);
                assert_eq!(refused.is_err(), known);
            }
            Step::TakeDue { after } => {
                self.now += Duration::from_secs(after);
                self.take_due();
            }
        }
    }
}

proptest! {
    #[test]
    fn no_input_lacks_a_view_and_no_change_is_lost(
        steps in prop::collection::vec(step(), 0..60),
    ) {
        let mut model = Model::new();
        model.planner = model.planner.with_request_timeout(at(60));
        for step in steps {
            model.does(step);
        }
        // In the end every view can be read.
        for service in 0..SERVICES.len() {
            model.observe(service, false);
        }
        model.now += at(1000);
        model.take_due();
        for task in &model.tasks {
            prop_assert!(!task.owed, "a change of {:?} was lost", task.spec);
            prop_assert!(task.requests.is_empty(), "a request of {:?} was lost", task.spec);
        }
    }
}
