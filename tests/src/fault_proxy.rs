//! A proxy between dayone and a real Redfish service, in which a test lets things go wrong.

use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use reqwest::Method;
use reqwest::blocking::Client;
use serde_json::{Value, json};

/// What goes wrong with a request.
#[derive(Debug, Clone)]
pub enum Fault {
    /// Delays the request.
    Late(Duration),
    /// Forwards the request, and delays the answer.
    LateAnswer(Duration),
    /// Closes the connection without forwarding the request.
    Lost,
    /// Closes the connection after this time, without forwarding the request.
    Stuck(Duration),
    /// Forwards the request, and closes the connection without an answer.
    LostAnswer,
    /// Sends this answer without forwarding the request: status, headers, body.
    Answer(u16, Vec<(&'static str, String)>, Value),
    /// Answers with a Task, and forwards the request after this time.
    Task(Duration),
    /// Answers with a Task that fails with this error, without forwarding the request.
    FailingTask(Value),
    /// Replaces these members in the BMC's answer.
    Changed(Value),
}

impl Fault {
    /// Returns a fault that answers with a status and a general error.
    pub fn status(status: u16) -> Self {
        Self::Answer(status, Vec::new(), general_error(&format!("fault {status}")))
    }
}

/// Returns an error in the form of DSP0266.
pub fn general_error(message: &str) -> Value {
    json!({"error": {"code": "Base.1.18.GeneralError", "message": message}})
}

/// A request that the proxy has received.
#[derive(Debug, Clone)]
pub struct Seen {
    /// The method, such as `POST`.
    pub method: String,
    /// The path, with its query.
    pub path: String,
    /// The body.
    pub body: String,
    /// Whether the proxy has forwarded it to the BMC, at once or later.
    pub forwarded: bool,
}

struct Rule {
    method: Method,
    part: String,
    times: usize,
    fault: Fault,
}

struct Shared {
    upstream: String,
    client: Client,
    rules: Mutex<Vec<Rule>>,
    seen: Mutex<Vec<Seen>>,
    tasks: Mutex<HashMap<String, Value>>,
    connections: Mutex<Vec<TcpStream>>,
    task_number: AtomicUsize,
    ended: AtomicBool,
}

/// A running proxy. Dropping it stops it.
pub struct FaultProxy {
    shared: Arc<Shared>,
    address: String,
}

impl FaultProxy {
    /// Starts a proxy on loopback for a service such as `http://127.0.0.1:34567`. It has no faults yet.
    pub fn start(upstream: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let client = Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none()).build();
        let shared = Arc::new(Shared {
            upstream: upstream.to_owned(),
            client: client.expect("a client"),
            rules: Mutex::default(),
            seen: Mutex::default(),
            tasks: Mutex::default(),
            connections: Mutex::default(),
            task_number: AtomicUsize::new(0),
            ended: AtomicBool::new(false),
        });
        let accepting = Arc::clone(&shared);
        thread::spawn(move || {
            for connection in listener.incoming().map_while(Result::ok) {
                if accepting.ended.load(Ordering::Relaxed) {
                    break;
                }
                let shared = Arc::clone(&accepting);
                lock(&shared.connections).extend(connection.try_clone());
                // An error is a connection that has ended, on either side.
                thread::spawn(move || shared.serve(connection));
            }
        });
        Self { shared, address }
    }

    /// Returns the proxy's origin, such as `http://127.0.0.1:34567`.
    pub fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Applies a fault to the next `times` requests with this method whose path or body contains `part`. If several faults fit, the
    /// first one counts.
    pub fn next(&self, method: Method, part: &str, times: usize, fault: Fault) {
        lock(&self.shared.rules).push(Rule { method, part: part.to_owned(), times, fault });
    }

    /// Removes all faults, and forgets all requests.
    pub fn forget(&self) {
        lock(&self.shared.rules).clear();
        lock(&self.shared.seen).clear();
    }

    /// Returns the requests that the proxy has received.
    pub fn seen(&self) -> Vec<Seen> {
        lock(&self.shared.seen).clone()
    }

    /// Waits for a request with this method whose path or body contains `part`.
    #[track_caller]
    pub fn wait_for(&self, method: &Method, part: &str) {
        let fits =
            |seen: &Seen| seen.method == method.as_str() && (seen.path.contains(part) || seen.body.contains(part));
        let deadline = Instant::now() + Duration::from_secs(60);
        while !self.seen().iter().any(fits) {
            assert!(Instant::now() < deadline, "no {method} of {part}: {:#?}", self.seen());
            thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for FaultProxy {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::Relaxed);
        // Wakes the thread that accepts.
        drop(TcpStream::connect(&self.address));
        for connection in lock(&self.shared.connections).drain(..) {
            let _ = connection.shutdown(Shutdown::Both);
        }
    }
}

struct Request {
    method: Method,
    path: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

struct Answer {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Shared {
    fn serve(self: &Arc<Self>, connection: TcpStream) -> io::Result<()> {
        let mut reader = BufReader::new(connection.try_clone()?);
        while let Some(request) = read_request(&mut reader)? {
            match self.answer(request) {
                Some(answer) => write_answer(&connection, &answer)?,
                None => return connection.shutdown(Shutdown::Both),
            }
        }
        Ok(())
    }

    /// Returns the answer, or `None` to close the connection.
    fn answer(self: &Arc<Self>, request: Request) -> Option<Answer> {
        if let Some(task) = lock(&self.tasks).get(&request.path) {
            return Some(json_answer(200, Vec::new(), task));
        }
        let fault = self.fault(&request);
        let kept = matches!(fault, Some(Fault::Lost | Fault::Stuck(_) | Fault::Answer(..) | Fault::FailingTask(_)));
        lock(&self.seen).push(Seen {
            method: request.method.to_string(),
            path: request.path.clone(),
            body: String::from_utf8_lossy(&request.body).into_owned(),
            forwarded: !kept,
        });
        match fault {
            None => Some(self.forward(&request)),
            Some(Fault::Late(time)) => {
                thread::sleep(time);
                Some(self.forward(&request))
            }
            Some(Fault::LateAnswer(time)) => {
                let answer = self.forward(&request);
                thread::sleep(time);
                Some(answer)
            }
            Some(Fault::Lost) => None,
            Some(Fault::Stuck(time)) => {
                thread::sleep(time);
                None
            }
            Some(Fault::LostAnswer) => {
                self.forward(&request);
                None
            }
            Some(Fault::Answer(status, headers, body)) => Some(json_answer(status, headers, &body)),
            Some(Fault::Task(time)) => {
                let (path, accepted) = self.new_task();
                let shared = Arc::clone(self);
                thread::spawn(move || {
                    thread::sleep(time);
                    let answer = shared.forward(&request);
                    let done = if answer.status < 400 { "Completed" } else { "Exception" };
                    let said = serde_json::from_slice(&answer.body).unwrap_or(Value::Null);
                    lock(&shared.tasks).insert(path.clone(), task(&path, done, &said));
                });
                Some(accepted)
            }
            Some(Fault::FailingTask(error)) => {
                let (path, accepted) = self.new_task();
                lock(&self.tasks).insert(path.clone(), task(&path, "Exception", &error));
                Some(accepted)
            }
            Some(Fault::Changed(members)) => {
                let answer = self.forward(&request);
                let mut body: Value = serde_json::from_slice(&answer.body).expect("JSON");
                let Value::Object(members) = members else { panic!("an object: {members}") };
                body.as_object_mut().expect("an object").extend(members);
                Some(json_answer(answer.status, Vec::new(), &body))
            }
        }
    }

    fn fault(&self, request: &Request) -> Option<Fault> {
        let mut rules = lock(&self.rules);
        let body = String::from_utf8_lossy(&request.body);
        let fits = |rule: &&mut Rule| {
            let part = request.path.contains(&rule.part) || body.contains(&rule.part);
            rule.times > 0 && rule.method == request.method && part
        };
        let rule = rules.iter_mut().find(fits)?;
        rule.times -= 1;
        Some(rule.fault.clone())
    }

    fn forward(&self, request: &Request) -> Answer {
        let mut sent = self.client.request(request.method.clone(), format!("{}{}", self.upstream, request.path));
        for (name, value) in &request.headers {
            if !["host", "connection", "content-length"].contains(&name.as_str()) {
                sent = sent.header(name, value);
            }
        }
        let answer = match sent.body(request.body.clone()).send() {
            Ok(answer) => answer,
            Err(error) => return json_answer(502, Vec::new(), &general_error(&error.to_string())),
        };
        let status = answer.status().as_u16();
        let kept = ["content-type", "location", "etag", "www-authenticate", "x-auth-token", "retry-after"];
        let headers = answer.headers().iter().filter(|(name, _)| kept.contains(&name.as_str()));
        let text = |value: &reqwest::header::HeaderValue| value.to_str().unwrap_or_default().to_owned();
        let headers = headers.map(|(name, value)| (name.to_string(), text(value))).collect();
        Answer { status, headers, body: answer.bytes().unwrap_or_default().to_vec() }
    }

    fn new_task(&self) -> (String, Answer) {
        let number = self.task_number.fetch_add(1, Ordering::Relaxed);
        let path = format!("/redfish/v1/TaskService/Tasks/{number}");
        let running = task(&path, "Running", &Value::Null);
        lock(&self.tasks).insert(path.clone(), running.clone());
        let accepted = json_answer(202, vec![("Location", path.clone())], &running);
        (path, accepted)
    }
}

/// Returns a Task (schema `Task` 1.7), with the error that ended it, if there is one.
fn task(path: &str, state: &str, error: &Value) -> Value {
    let mut task = json!({"@odata.type": "#Task.v1_7_4.Task", "@odata.id": path, "Name": "Task", "TaskState": state});
    if state == "Exception" {
        let message = error.pointer("/error/message").cloned().unwrap_or_else(|| json!("it failed"));
        task["TaskStatus"] = json!("Critical");
        task["Messages"] = json!([{"MessageId": "Base.1.18.GeneralError", "Message": message}]);
    }
    task
}

fn json_answer(status: u16, headers: Vec<(&'static str, String)>, body: &Value) -> Answer {
    let mut headers: Vec<_> = headers.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    headers.push(("Content-Type".to_owned(), "application/json".to_owned()));
    Answer { status, headers, body: body.to_string().into_bytes() }
}

fn read_request(reader: &mut BufReader<TcpStream>) -> io::Result<Option<Request>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split_whitespace();
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default().to_owned());
    let method = method.parse().map_err(|_| io::ErrorKind::InvalidData)?;
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let mut body = vec![0; length.and_then(|(_, value)| value.parse().ok()).unwrap_or(0)];
    reader.read_exact(&mut body)?;
    Ok(Some(Request { method, path, headers, body }))
}

fn write_answer(mut connection: &TcpStream, answer: &Answer) -> io::Result<()> {
    let mut head = format!("HTTP/1.1 {} -\r\n", answer.status);
    for (name, value) in &answer.headers {
        head += &format!("{name}: {value}\r\n");
    }
    // A 204 has no length.
    if answer.status != 204 {
        head += &format!("Content-Length: {}\r\n", answer.body.len());
    }
    connection.write_all(format!("{head}\r\n").as_bytes())?;
    connection.write_all(&answer.body)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
