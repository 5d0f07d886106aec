/** 中文。 English is the key. */

export default {
  "People": "人员",
  "Who": "谁",
  "Asked": "请求时间",
  "{name} is let in.": "已允许 {name}。",
  "Let in": "允许",
  "{name} is not let in any more.": "不再允许 {name}。",
  "No requests for access.": "没有人请求加入。",
};
