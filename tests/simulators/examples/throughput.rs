use std::sync::Arc; use std::time::Instant;
use homing_domain::ids::*; use homing_domain::key::*; use homing_domain::origin::*;
use homing_ports::platform::*;
use homing_simulators::*;
#[tokio::main(worker_threads=2)] async fn main() {
 let server=Server::start().await.unwrap();
 let account=AccountName{profile:"main".into(),platform:"t".into(),account:None};
 let p=Arc::new(SimulatedPlatform::new(&server.url(),account.clone(),Settings::default(),client().unwrap()).unwrap());
 let origin=|c:usize| Origin{profile:"main".into(),platform:"t".into(),account:None,chat_type:ChatType::Dm,chat:c.to_string(),thread:None,user:Some("u".into()),anchor:None};
 let t=Instant::now(); let mut hs=vec![];
 for c in 0..100usize { let p=p.clone(); let o=origin(c); hs.push(tokio::spawn(async move { for k in 0..500u64 { p.send(Outgoing{id:OutboxId::from_number(c as u64*1000+k),attempt:1,origin:o.clone(),window:None,kind:OutgoingKind::Answer,text:"hello".into(),may_repeat:false}).await.unwrap(); } })); }
 for h in hs { h.await.unwrap(); }
 let d=t.elapsed(); println!("sends: {} in {:?} = {:.0}/s", server.sent_count(), d, 50000.0/d.as_secs_f64());
}
