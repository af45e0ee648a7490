namespace rtcg::cgen {}
